"use strict";
/* Light and dark, tables wider than the page, and the certificate as a file. */
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours");
  };
  try {
    const kept = localStorage.getItem("monolip-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* a page opened from a file may have no storage */ }
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("monolip-theme", root.dataset.theme); } catch { /* as above */ }
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();

  for (const box of document.querySelectorAll(".scroll")) { // without this line people miss the last columns
    const look = () => {
      box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 2);
      box.classList.toggle("end", box.scrollLeft + box.clientWidth >= box.scrollWidth - 2);
    };
    new ResizeObserver(look).observe(box);
    box.addEventListener("scroll", look, { passive: true });
    look();
  }

  document.getElementById("save-certificate").addEventListener("click", () => {
    const text = document.getElementById("certificate").textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "certificate.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
