import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { FormField } from "../api/types";
import { aRequest, completedRequest, serve, show } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";

const options = [{ value: "a", label: "Alpha" }, { value: "b", label: "Beta" }];
const fields: FormField[] = [
  { name: "text", type: "text", label: "Text" },
  { name: "textarea", type: "textarea", label: "Long text" },
  { name: "select", type: "select", label: "Select", options },
  { name: "multiselect", type: "multiselect", label: "Several", options },
  { name: "radio", type: "radio", label: "Radio", options: [{ value: 1, label: "One" }, { value: 2, label: "Two" }] },
  { name: "checkbox", type: "checkbox", label: "Boxes", options },
  { name: "number", type: "number", label: "Number", min: 1, max: 10 },
  { name: "slider", type: "slider", label: "Slider", min: 0, max: 10, step: 2 },
  { name: "date", type: "date", label: "Day" },
  { name: "boolean", type: "boolean", label: "Sure" },
];

function open(form: FormField[]) {
  const request = aRequest({ kind: "form", form: { fields: form } });
  const sent = serve((_path, { method }) => [200, method === "GET" ? request : completedRequest(request)]);
  show(<RequestDetail id="r1" />);
  return { sent, user: userEvent.setup() };
}

const field = async (name: string) => within(await screen.findByTestId(`field-${name}`));

async function choose(user: ReturnType<typeof userEvent.setup>, name: string, label: string) {
  await user.click((await field(name)).getByRole("combobox"));
  await user.click(await screen.findByText(label, { selector: ".ant-select-item-option-content" }));
}

test("each of the ten types sends exactly its own JSON type", async () => {
  const { sent, user } = open(fields);
  await user.type(await screen.findByLabelText("Text"), "5");
  await user.click(screen.getByLabelText("Long text"));
  await user.paste("two\nlines");
  await choose(user, "select", "Beta");
  await user.click((await field("radio")).getByLabelText("Two"));
  await user.click((await field("checkbox")).getByLabelText("Beta"));
  await user.click((await field("checkbox")).getByLabelText("Alpha"));
  await user.type(screen.getByLabelText("Number"), "99.5");
  fireEvent.keyDown((await field("slider")).getByRole("slider"), { key: "ArrowRight", keyCode: 39, which: 39 });
  const day = await screen.findByPlaceholderText("YYYY-MM-DD");
  await user.click(day);
  // The calendar is drawn again for each key.
  await user.paste("2026-02-03");
  await user.keyboard("{Enter}");
  await user.click((await field("boolean")).getByLabelText("No"));
  await user.click((await field("multiselect")).getByRole("combobox"));
  const several = await screen.findAllByText("Alpha", { selector: ".ant-select-item-option-content" });
  await user.click(several.at(-1) ?? document.body);
  await user.click(screen.getByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toEqual({
    method: "POST",
    path: "/v1/requests/r1/respond",
    body: {
      decision: "approve",
      digest: "sha256:abc",
      data: {
        text: "5", textarea: "two\nlines", select: "b", multiselect: ["a"], radio: 2, checkbox: ["a", "b"],
        number: 99.5, slider: 2, date: "2026-02-03", boolean: false,
      },
    },
  });
}, 20_000);

test("defaults are prefilled and sent as they are", async () => {
  const defaults = ["x", "y", "a", ["a", "b"], 2, ["b"], 3, 4, "2026-01-01", true];
  const { sent, user } = open(fields.map((one, index) => ({ ...one, default: defaults[index] ?? null })));
  await user.click(await screen.findByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toMatchObject({
    data: Object.fromEntries(fields.map(({ name }, index) => [name, defaults[index]])),
  });
});

test("what nobody touched is not sent, not even as an empty value or a no", async () => {
  const { sent, user } = open(fields);
  await user.click(await screen.findByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "approve", digest: "sha256:abc", data: {} });
});

test("a required field that is empty is marked, gets the focus, and nothing is sent", async () => {
  const { sent, user } = open(fields.map((one) => ({ ...one, required: true })));
  await user.click(await screen.findByTestId("decide-approve"));
  expect(await screen.findAllByTestId("field-error")).toHaveLength(10);
  expect(document.activeElement).toBe(screen.getByLabelText("Text"));
  expect(sent).toEqual([]);
});

test("edit waits for a changed value and then sends the same answer as an edit", async () => {
  const { sent, user } = open([{ name: "note", type: "text", label: "Note", default: "old" }]);
  expect(await screen.findByTestId("decide-edit")).toHaveProperty("disabled", true);
  await user.type(screen.getByLabelText("Note"), "er");
  await user.click(screen.getByTestId("decide-edit"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "edit", digest: "sha256:abc", data: { note: "older" } });
});

test("a number out of range is sent as typed, for the server to judge", async () => {
  const { sent, user } = open([{ name: "n", type: "number", label: "N", max: 10 }]);
  await user.type(await screen.findByLabelText("N"), "4000");
  await user.tab();
  await user.click(screen.getByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toMatchObject({ data: { n: 4000 } });
});

test("a moment is chosen by this browser's clock, whose zone is shown, and sent with its offset", async () => {
  const { sent, user } = open([{ name: "at", type: "datetime", label: "When" }]);
  const box = await screen.findByPlaceholderText("YYYY-MM-DD HH:mm:ss");
  expect(screen.getByTestId("zone").textContent).toMatch(/^UTC[+-]\d{2}:\d{2}/);
  await user.click(box);
  await user.type(box, "2026-02-03 09:30:00{enter}");
  await user.click(screen.getByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  const at = JSON.stringify(sent[0]?.body).match(/"at":"([^"]+)"/)?.[1] ?? "";
  expect(at).toMatch(/^2026-02-03T09:30:00[+-]\d{2}:\d{2}$/);
  expect(new Date(at).getTime()).toBe(new Date(2026, 1, 3, 9, 30).getTime());
});

test("a moment of another zone is shown by this clock, and a time without a zone stays the text that it is", async () => {
  open([
    { name: "at", type: "datetime", label: "When", default: "2026-02-03T09:30:00+13:45" },
    { name: "odd", type: "datetime", label: "Odd", default: "2026-02-03T09:30:00" },
  ]);
  const at = new Date("2026-02-03T09:30:00+13:45");
  const two = (number: number) => String(number).padStart(2, "0");
  const shown = await screen.findByPlaceholderText("YYYY-MM-DD HH:mm:ss");
  expect((shown as HTMLInputElement).value).toBe(
    `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:00`,
  );
  expect(screen.getByLabelText<HTMLInputElement>("Odd").value).toBe("2026-02-03T09:30:00");
});
