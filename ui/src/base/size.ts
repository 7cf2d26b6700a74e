/** Return a size in bytes for display. */
export function formatBytes(bytes: number, language: string): string {
  const [unit, size] = bytes < 1024 ? ["byte", bytes] as const
    : bytes < 1024 * 1024 ? ["kilobyte", bytes / 1024] as const : ["megabyte", bytes / 1024 / 1024] as const;
  return new Intl.NumberFormat(language || "en", { style: "unit", unit, unitDisplay: unit === "byte" ? "long" : "short", maximumFractionDigits: 1 }).format(size);
}
