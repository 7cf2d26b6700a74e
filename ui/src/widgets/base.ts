/** Where Ringi stands on its server: "", or a path such as "/ringi" where it is part of another application. */
export const base = document.querySelector("meta[name=ringi-base]")?.getAttribute("content") ?? "";

/** The path of this page within Ringi. */
export const here = () => window.location.pathname.slice(base.length) || "/";
