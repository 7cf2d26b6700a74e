import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { FormField, Json, JsonObject, Request } from "../api/types";
import { RequestDetail } from "../request/request-detail";
import { aRequest, completedRequest, serve, show } from "../testing/fake-server";
import type { Known } from "../testing/known";

const speak = (...languages: string[]) => vi.spyOn(navigator, "languages", "get").mockReturnValue(languages);

beforeEach(() => {
  // The page is in English, and the person's browser is German.
  speak("de-DE", "en");
});

function open(changes: Known<Request>) {
  const request = aRequest(changes);
  const sent = serve((_path, { method }) => [200, method === "GET" ? request : completedRequest(request)]);
  show(<RequestDetail id="r1" />);
  return sent;
}

const form = (field: Partial<FormField> = {}) => open({ kind: "form", form: { fields: [{ name: "n", type: "number", label: "N", ...field }] } });
const edit = async (args: JsonObject, schema?: JsonObject) => {
  const sent = open({ action: { name: "refund", args, ...(schema && { schema }) } });
  await userEvent.setup().click(await screen.findByTestId("decide-edit"));
  return sent;
};
const input = () => screen.findByRole<HTMLInputElement>("spinbutton");
const write = async (text: string) => fireEvent.change(await input(), { target: { value: text } });
const note = () => screen.getByTestId("number-note").textContent;
const press = (testId: string) => fireEvent.click(screen.getByTestId(testId));
const dataOf = (sent: { body: Json }[]) => (sent[0]?.body as JsonObject | undefined)?.data;
const argsOf = (sent: { body: Json }[]) => (sent[0]?.body as JsonObject | undefined)?.args;

test("19,99 in a German browser is sent as 19.99, and what will be stored stands beside it from the first key", async () => {
  const sent = form();
  const box = await input();
  expect(note()).toContain("1.234,56");
  const shown = ["1", "19", "19,", "19,9", "19,99"].map((value) => {
    fireEvent.change(box, { target: { value } });
    return screen.queryByTestId("stored-number")?.textContent;
  });
  expect(shown).toEqual(["Stored as 1", "Stored as 19", "Stored as 19", "Stored as 19.9", "Stored as 19.99"]);
  press("decide-approve");
  await waitFor(() => expect(dataOf(sent)).toEqual({ n: 19.99 }));
});

test.each([["1.234,56", 1234.56], ["１２３", 123], ["１．２３４，５", 1234.5], ["-0,5", -0.5]])("%s is sent as it is meant", async (text, number) => {
  const sent = form();
  await write(text);
  press("decide-approve");
  await waitFor(() => expect(dataOf(sent)).toEqual({ n: number }));
});

test.each([
  ["19.99", "write it like 1.234,56"], ["1,234.5", "write it like 1.234,56"], ["abc", "write it like 1.234,56"],
  ["9007199254740993", "above 9007199254740991"], ["0,12345678901234567891", "the nearest number is 0.12345678901234568"],
])("%s is refused in words, kept as typed, and not left out of an optional field", async (text, words) => {
  const sent = form();
  await write(text);
  expect((await input()).value).toBe(text);
  expect(screen.getByTestId("number-refused").textContent).toContain(words);
  expect(screen.queryByTestId("stored-number")).toBeNull();
  press("decide-approve");
  expect(await screen.findByTestId("field-error")).toBeTruthy();
  expect(sent).toEqual([]);
});

test.each([["whole number", 1234], ["with decimals", 1.234]])("1.234 asks which number is meant before it can be sent: %s", async (label, number) => {
  const sent = form();
  await write("1.234");
  expect(screen.queryByTestId("stored-number")).toBeNull();
  press("decide-approve");
  expect(await screen.findByTestId("field-error")).toBeTruthy();
  expect(sent).toEqual([]);
  fireEvent.click(within(screen.getByTestId("which-number")).getByRole("button", { name: new RegExp(`${String(number).replace(".", "\\.")} .*${label}`) }));
  expect(screen.getByTestId("stored-number").textContent).toBe(`Stored as ${number}`);
  press("decide-approve");
  await waitFor(() => expect(dataOf(sent)).toEqual({ n: number }));
});

test("an edited argument is read in the same notation, and one that is not read cannot be confirmed", async () => {
  const sent = await edit({ amount: 40.5 });
  expect((await input()).value).toBe("40,5");
  await write("1.999");
  press("confirm-edit");
  expect(await screen.findByTestId("field-error")).toBeTruthy();
  expect(sent).toEqual([]);
  await write("19,99");
  press("confirm-edit");
  await waitFor(() => expect(argsOf(sent)).toEqual({ amount: 19.99 }));
});

const stepped = (multipleOf: number) => ({ type: "object", properties: { amount: { type: "number", multipleOf } } });
test.each([[0.01, "19,99", 19.99], [0.05, "1,15", 1.15], [0.01, "9007199254740,99", 9_007_199_254_740.99]])("with steps of %d, %s is sent without loss", async (step, text, amount) => {
  const sent = await edit({ amount: 1 }, stepped(step));
  await write(text);
  press("confirm-edit");
  await waitFor(() => expect(argsOf(sent)).toEqual({ amount }));
});

test("an edited integer that a browser cannot hold is refused in words, and its text is sent as it is", async () => {
  const sent = await edit({ order: 1, account: "9007199254740993" });
  await write("9007199254740993");
  expect(screen.getByTestId("number-refused").textContent).toContain("above 9007199254740991");
  press("confirm-edit");
  expect(sent).toEqual([]);
  await write("2");
  press("confirm-edit");
  await waitFor(() => expect(argsOf(sent)).toEqual({ order: 2, account: "9007199254740993" }));
});

const lines = { type: "object", properties: { lines: { type: "array", items: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } } } };
test.each([["by its schema", lines], ["by its own types", undefined]])("a number inside of a value (%s) keeps its field while it is typed", async (_title, schema) => {
  const sent = await edit({ lines: [{ n: 1 }] }, schema);
  const box = await input();
  for (const value of ["1.", "1.2", "1.23", "1.234"]) {
    fireEvent.change(box, { target: { value } });
    expect(screen.getByRole<HTMLInputElement>("spinbutton").value).toBe(value);
  }
  press("confirm-edit");
  expect(sent).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: /1234 \(whole/ }));
  press("confirm-edit");
  await waitFor(() => expect(argsOf(sent)).toEqual({ lines: [{ n: 1234 }] }));
});

test("JSON whose digits would change is refused in words", async () => {
  const sent = await edit({ any: { n: 1 } });
  fireEvent.click(await screen.findByTestId("edit-json"));
  fireEvent.change(screen.getByRole("textbox", { name: "any" }), { target: { value: '{"n": 9007199254740993}' } });
  expect(screen.getByTestId("json-error").textContent).toContain("above 9007199254740991");
  press("confirm-edit");
  expect(sent).toEqual([]);
});

test("the limit of later calls is read in the same notation, and never taken as another number", async () => {
  const sent = open({ action: { name: "refund", args: { amount: 40 } } });
  fireEvent.click(await screen.findByTestId("open-grant"));
  const user = userEvent.setup();
  await user.click(within(await screen.findByTestId("grant-amount")).getByRole("combobox"));
  await user.click(await screen.findByText("at most", { selector: ".ant-select-item-option-content" }));
  const limit = within(screen.getByTestId("grant-amount")).getByRole("spinbutton");
  const confirm = screen.getByTestId<HTMLButtonElement>("confirm-grant");
  for (const text of ["1.000", "39", ""]) {
    fireEvent.change(limit, { target: { value: text } });
    expect(confirm.disabled).toBe(true);
  }
  fireEvent.change(limit, { target: { value: "1.000,50" } });
  fireEvent.click(confirm);
  await waitFor(() => expect(sent[0]?.body).toMatchObject({ grant: { where: { amount: { at_most: 1000.5 } } } }));
});

test("a field for whole numbers up to 10000 offers only the numbers that it allows, and says why", async () => {
  open({ action: { name: "refund", args: { amount: 40 } } });
  fireEvent.click(await screen.findByTestId("open-grant"));
  const uses = await screen.findByTestId<HTMLInputElement>("grant-uses");
  const offered = (text: string) => {
    fireEvent.change(uses, { target: { value: text } });
    expect(screen.getByTestId("number-refused").textContent).toContain("whole numbers only");
    return screen.queryAllByRole("button", { name: /whole number|with decimals/ });
  };
  expect(offered("10.001")).toEqual([]);
  const [whole, ...others] = offered("1.234");
  expect(others).toEqual([]);
  if (whole) fireEvent.click(whole);
  expect(uses.value).toBe("1.234");
  expect(screen.queryByTestId("number-refused")).toBeNull();
});

test("the arrow keys count in decimals", async () => {
  form({ step: 0.1, default: 0.1 });
  const box = await input();
  fireEvent.keyDown(box, { key: "ArrowUp" });
  fireEvent.keyDown(box, { key: "ArrowUp" });
  expect(box.value).toBe("0,3");
});
