import type { Entry } from "./types";

/** The figures of a playbook at one version. */
export interface VersionFigures {
  version: number;
  /** The number of active lines. */
  size: number;
  /** The share of helpful marks among all marks so far, helpful or misleading; null before the first one. */
  accuracy: number | null;
}

/** Return how an entry changed the number of active lines. */
const growth = ({ changes }: Entry) => changes.reduce((sum, { before, after }) => sum + Number(after.isActive) - Number(before?.isActive ?? false), 0);

/**
 * Return the figures by version, oldest first.
 *
 * @param entries The newest entries of the history, newest first.
 * @param active The number of active lines now.
 * @param marks The helpful and misleading marks of all lines now, which include those of older entries.
 */
export function figuresByVersion(entries: readonly Entry[], active: number, marks: { helpful: number; harmful: number }): VersionFigures[] {
  let size = active;
  let { helpful, harmful } = marks;
  return entries.map((entry): VersionFigures => {
    const all = helpful + harmful;
    const found = { version: entry.version, size, accuracy: all > 0 ? helpful / all : null };
    const count = (tag: string) => entry.tags.filter((one) => one.tag === tag).length;
    size -= growth(entry);
    helpful = Math.max(0, helpful - count("helpful"));
    harmful = Math.max(0, harmful - count("harmful"));
    return found;
  }).toReversed();
}
