/** Return the digits of a number without an exponent and without zeros at the ends: one text for one number. */
export function plainDigits(source: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/.exec(source) ?? [];
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (!/[1-9]/.test(digits)) return "0";
  const padded = "0".repeat(Math.max(0, -point)) + digits + "0".repeat(Math.max(0, point - digits.length));
  const at = Math.max(0, point);
  const before = padded.slice(0, at).replace(/^0+/, "") || "0";
  const after = padded.slice(at).replace(/0+$/, "");
  return `${sign === "-" ? "-" : ""}${before}${after && `.${after}`}`;
}

/** Return the sum of numbers as decimals: 0.1 and 0.2 are 0.3. */
export function sumOf(numbers: readonly number[]): number {
  const texts = numbers.map((number) => plainDigits(String(number)));
  const places = Math.max(0, ...texts.map((text) => text.split(".")[1]?.length ?? 0));
  const units = texts.reduce((sum, text) => {
    const [whole = "", fraction = ""] = text.split(".");
    return sum + BigInt(whole + fraction.padEnd(places, "0"));
  }, 0n);
  return Number(`${units}e-${places}`);
}

/** Return a size in bytes for display. */
export function formatBytes(bytes: number, language: string): string {
  const [unit, size] = bytes < 1024 ? ["byte", bytes] as const
    : bytes < 1024 * 1024 ? ["kilobyte", bytes / 1024] as const : ["megabyte", bytes / 1024 / 1024] as const;
  return new Intl.NumberFormat(language || "en", { style: "unit", unit, unitDisplay: unit === "byte" ? "long" : "short", maximumFractionDigits: 1 }).format(size);
}
