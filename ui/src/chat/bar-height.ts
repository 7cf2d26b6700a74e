/** Tell the style sheets how high the bar at the foot of a chat is, so that what sticks above it stays in sight. */
export function reportHeight(bar: HTMLElement | null): (() => void) | undefined {
  const area = bar?.parentElement;
  if (!bar || !area) return undefined;
  const observer = new ResizeObserver(() => area.style.setProperty("--chat-bar", `${bar.offsetHeight}px`));
  observer.observe(bar);
  return () => observer.disconnect();
}
