// A button on each block of code that copies what can be run: without prompts, and without what is printed.
document.documentElement.dataset.mode ||= "auto"; // without it the theme reports an error on a first visit

function runnable(text) {
  const lines = text.trimEnd().split("\n");
  const typed = lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line));
  return (typed.length ? typed.map((line) => line.slice(4)) : lines).join("\n") + "\n";
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    if (block.closest(".sphx-glr-script-out")) continue;
    const code = block.querySelector("pre");
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(runnable(code.textContent));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});
