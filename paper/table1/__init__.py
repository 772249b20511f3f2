"""Table 1: the public data sets, under the published protocol and under an honest one."""
