/** Return how many of the first parts fit into a line, from the width of each. */
export function fittingParts(widths: readonly number[], lineWidth: number): number {
  let width = 0;
  const end = widths.findIndex((part) => (width += part) > lineWidth);
  return end < 0 ? widths.length : end;
}
