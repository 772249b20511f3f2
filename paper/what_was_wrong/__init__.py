"""What was wrong in the original experiments and text: each defect shown by code that runs, and what a fix does."""
