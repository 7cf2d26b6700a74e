// What a person could not read or reach on the page as it stands; each function returns lines for people.
(() => {
  const short = (text) => text.trim().replace(/\s+/g, " ").slice(0, 200);
  const named = (element) => {
    const { tagName, className } = element;
    const id = element.closest("[data-testid]")?.dataset.testid;
    return `<${tagName.toLowerCase()} class="${String(className.baseVal ?? className)}">${id ? ` in ${id}` : ""}`;
  };
  const hides = (value) => value === "hidden" || value === "clip";

  const isSeen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !element.closest(".for-readers, [inert], .ant-table-measure-row");

  // Cut short on purpose: the whole text is in the title, or comes with a click.
  const isShortened = (element) => element.closest("[title], summary") !== null
    && (getComputedStyle(element).textOverflow === "ellipsis" || getComputedStyle(element).webkitLineClamp !== "none");

  function* texts() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.data.trim() && node.parentElement && isSeen(node.parentElement)) yield node;
    }
  }

  function boxesOf(node) {
    const range = document.createRange();
    range.selectNodeContents(node);
    return Array.from(range.getClientRects()).filter((box) => box.width > 0.5 && box.height > 0.5);
  }

  const isOutside = (text, box, x, y) => (x && (text.left < box.left - 1 || text.right > box.right + 1))
    || (y && (text.top < box.top - 3 || text.bottom > box.bottom + 3));

  const isBeyond = (element, edge) => element.getBoundingClientRect().right > edge + 1
    && getComputedStyle(element.parentElement).overflowX === "visible";

  function cutBy(node) {
    const boxes = boxesOf(node);
    for (let at = node.parentElement; at && at !== document.body; at = at.parentElement) {
      const { overflowX, overflowY, position } = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      // Of a pixel's size: there for screen readers.
      if (box.width < 2) return undefined;
      const isCut = boxes.some((text) => isOutside(text, box, hides(overflowX), hides(overflowY)));
      if (isCut) return isShortened(at) ? undefined : at;
      // What scrolls can be scrolled to.
      if ((overflowX !== "visible" && !hides(overflowX)) || position === "fixed") return undefined;
    }
    return undefined;
  }

  function spills(element) {
    return element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1 && !isShortened(element)
      && getComputedStyle(element).overflowX !== "auto";
  }

  function placeholders() {
    const pen = document.createElement("canvas").getContext("2d");
    return Array.from(document.querySelectorAll("input[placeholder]")).filter((input) => {
      if (!input.placeholder || input.value || !isSeen(input)) return false;
      const style = getComputedStyle(input);
      pen.font = style.font;
      const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      return pen.measureText(input.placeholder).width > room + 1;
    }).map((input) => `placeholder cut: ${input.placeholder}`);
  }

  function clipped() {
    const found = placeholders();
    for (const node of texts()) {
      const cutter = cutBy(node);
      if (cutter) found.push(`“${short(node.data)}” is cut by ${named(cutter)}`);
      else if (spills(node.parentElement)) found.push(`“${short(node.data)}” leaves ${named(node.parentElement)}`);
    }
    return [...new Set(found)];
  }

  function sideways() {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const beyond = Array.from(document.body.querySelectorAll("*"))
      .filter((element) => isSeen(element) && isBeyond(element, root.clientWidth));
    const widest = beyond.filter((element) => !beyond.some((other) => other !== element && element.contains(other)));
    return [`the page is ${root.scrollWidth} wide in ${root.clientWidth}: ${widest.slice(0, 3).map(named).join(", ")}`];
  }

  function moving() {
    const running = document.getAnimations().filter(({ playState }) => playState === "running");
    return running.filter(({ effect }) => effect.getComputedTiming().duration > 1)
      .map((one) => `${one.animationName ?? one.transitionProperty} moves ${named(one.effect.target)}`);
  }

  async function barriers() {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const how = { runOnly: tags, resultTypes: ["violations"], preload: false, iframes: false };
    // What a bar at the lower edge covers comes with a scroll.
    const still = Object.assign(document.createElement("style"), { textContent: "[data-testid=decide] { position: static !important; }" });
    document.head.append(still);
    const { violations } = await window.axe.run(document, how);
    still.remove();
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical").flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${short(failureSummary)}`));
  }

  window.measure = { clipped, sideways, moving, barriers };
})();
