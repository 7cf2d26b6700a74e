/** The path of Ringi on its server: "", or a path such as "/ringi" inside another application. */
export const basePath = document.querySelector("meta[name=ringi-base]")?.getAttribute("content") ?? "";

/** The path of this page within Ringi. */
export const currentPath = () => window.location.pathname.slice(basePath.length) || "/";
