/** The strings of inputs that take a number. */
export const numbers = {
  example: (example: string) => `Write numbers like ${example}.`,
  stored: (number: string) => `Stored as ${number}`,
  which: "Which number is meant?",
  whole: (number: string) => `${number} (whole number)`,
  decimals: (number: string) => `${number} (with decimals)`,
  notation: (example: string) => `This is not a number in your browser's notation: write it like ${example}.`,
  tooLarge: (most: string) => `A number above ${most} cannot be stored exactly: the agent has to ask for it as text.`,
  tooPrecise: (nearest: string) => `So many digits cannot be stored exactly: the nearest number is ${nearest}.`,
  wholeNumber: "whole numbers only",
  allowed: (bounds: string) => `This number is not allowed: ${bounds}.`,
};
