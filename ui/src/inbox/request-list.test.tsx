import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { aRequest } from "../testing/fake-server";
import { layoutOf } from "./layout";
import { SectionHeading } from "./request-list";

const rowsOf = (...sections: ("soon" | "rest")[]) => layoutOf(sections.map((section, at) => ({ request: aRequest({ id: `r${at}` }), isOutdated: false, others: [], bundle: null, section })), 64);

test.each([
  ["rest", rowsOf("rest", "rest"), false, "2 waiting, none due within the hour"],
  ["rest", rowsOf("rest", "rest"), true, "2+ waiting, none due within the hour"],
  ["rest", rowsOf("soon", "rest"), false, "The rest 1"],
  ["soon", rowsOf("soon", "rest"), false, "Due soon 1"],
] as const)("the heading of %s counts its requests (%#)", (section, layout, hasMore, text) => {
  const { container } = render(<SectionHeading layout={layout} section={section} hasMore={hasMore} />);
  expect(container.textContent).toBe(text);
});
