// What a page must never do or contain, whatever an agent wrote; runs before anything else on it.
(() => {
  const violations = [];
  document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
    violations.push(`${violatedDirective} ${blockedURI}`));

  const unseen = new RegExp(`[${[
    "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180b-\\u180f",
    "\\u200b-\\u200f\\u2028-\\u202e",
    "\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ue000-\\uf8ff\\u{e0000}-\\u{10ffff}",
  ].join("")}]`, "u");
  const stacked = /\p{M}{5}/u;
  const spoken = ["title", "aria-label", "aria-description", "placeholder", "alt"];

  function* texts() {
    const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.TEXT_NODE && node.parentElement.tagName !== "TEXTAREA") yield node.data;
      for (const name of spoken) if (node.hasAttribute?.(name)) yield node.getAttribute(name);
    }
  }

  const hidden = () => Array.from(texts()).filter((text) => unseen.test(text) || stacked.test(text))
    .map((text) => JSON.stringify(text.slice(0, 120)));

  // What a person may change cannot be written out: beside it stands what hides in it.
  const unsaid = () => Array.from(document.querySelectorAll("input:not([type=radio], [type=checkbox]), textarea"))
    .filter(({ value }) => unseen.test(value) || stacked.test(value))
    .filter((input) => !input.closest(".value-editor, [data-testid^=field-]")?.querySelector("[data-testid=hidden-characters]"))
    .map((input) => JSON.stringify(input.value.slice(0, 120)));

  const loading = "script, iframe, object, embed, base, link, img, video, audio, source, use, image";
  const isOurs = (from) => from && new URL(from, location.href).href.startsWith(`${location.origin}/`);
  const isTrap = ({ name }) => /^on|^srcdoc$|^formaction$/i.test(name);

  function foreign() {
    const loaded = Array.from(document.querySelectorAll(loading))
      .filter((one) => !isOurs(one.src ?? one.href?.baseVal ?? one.href ?? one.data));
    const armed = Array.from(document.querySelectorAll("*")).filter((one) => Array.from(one.attributes).some(isTrap));
    return [...loaded, ...armed].map((one) => one.outerHTML.slice(0, 120));
  }

  // A link of an agent's may lead away, but says where, and what it leads to learns nothing.
  function traps() {
    return Array.from(document.querySelectorAll("a[href]")).filter((link) => {
      if (link.origin === location.origin) return false;
      const says = link.parentElement.textContent.includes(link.getAttribute("href"));
      return !(["https:", "http:", "mailto:"].includes(link.protocol) && /noopener/.test(link.rel) && says);
    }).map((link) => link.outerHTML.slice(0, 200));
  }

  // Where a marked text stands that is nothing but words: never among what was checked.
  const facts = "[data-testid=facts], [data-testid=signature], [data-testid=ended], [data-testid=history-event]";
  const asFacts = (marks) => Array.from(document.querySelectorAll(facts)).flatMap(({ textContent, dataset }) =>
    marks.filter((mark) => textContent.includes(`«${mark}»`)).map((mark) => `${mark} in ${dataset.testid}`));

  window.watched = { violations: () => violations, hidden, unsaid, foreign, traps, asFacts };
})();
