import type { Section } from "../api/urgency";
import { useStrings } from "../strings";
import { countOf, type Layout } from "./layout";

interface SectionHeadingProps {
  layout: Layout;
  section: Section | null;
  hasMore: boolean;
}

/** The name of a section with the number of its requests, as far as it is known. */
export function SectionHeading({ layout, section, hasMore }: SectionHeadingProps) {
  const { sections, noneDue } = useStrings();
  if (!section) return null;
  const { count, isPartial } = countOf(layout, section, hasMore);
  const known = `${count}${isPartial ? "+" : ""}`;
  const isAlone = section === "rest" && layout.starts.length === 0;
  return (
    <h2 data-testid="section" data-section={section}>
      {isAlone ? noneDue(known) : <>{sections[section]} <span className="inbox-count">{known}</span></>}
    </h2>
  );
}
