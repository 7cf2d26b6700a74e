// Runs before the first paint: the page begins in the theme that this person chose, not in the system's.
try {
  const theme = localStorage.getItem("ringi.theme");
  if (theme === "light" || theme === "dark") document.documentElement.style.colorScheme = theme;
} catch {
  // A browser that keeps nothing shows the system's theme.
}
