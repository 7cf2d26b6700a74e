import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Request } from "../api/types";
import { aRequest, completedRequest, serve, show } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";

const yesNo = { approve: { value: true }, reject: { value: false } } as unknown as Request["actions"];
const plain: Partial<Request> = {
  kind: "question", title: "Well?", answer_schema: {}, allowed: ["approve", "reject", "respond"], actions: yesNo,
};

function open(changes: Partial<Request>) {
  const request = aRequest(changes);
  const sent = serve((_path, { method }) => [200, method === "GET" ? request : completedRequest(request)]);
  show(<RequestDetail id="r1" />);
  return { sent, user: userEvent.setup() };
}

const body = { digest: "sha256:abc" };

test("the buttons of a plain question say what the agent receives, and send the decision alone", async () => {
  const { sent, user } = open(plain);
  expect((await screen.findByTestId("decide-reject")).textContent).toContain("→ false");
  const yes = screen.getByTestId("decide-approve");
  expect(yes.textContent).toContain("→ true");
  await user.click(yes);
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "approve", ...body });
});

test("words answer a plain question, and so does Ctrl+Enter in their box", async () => {
  const { sent, user } = open(plain);
  await user.type(await screen.findByRole("textbox"), "Kyoto{Control>}{Enter}{/Control}");
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "respond", message: "Kyoto", ...body });
});

test("any JSON answers a plain question, and broken JSON is not sent", async () => {
  const { sent, user } = open(plain);
  await user.click(await screen.findByTestId("answer-json"));
  const box = await screen.findByRole("textbox");
  await user.clear(box);
  await user.type(box, "[[1");
  await user.click(screen.getByTestId("decide-respond"));
  expect(sent).toHaveLength(0);
  await user.type(box, "]");
  await user.click(screen.getByTestId("decide-respond"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "respond", data: { answer: [1] }, ...body });
});

test("broken JSON does not keep anybody from the yes beside it", async () => {
  const { sent, user } = open(plain);
  await user.click(await screen.findByTestId("answer-json"));
  await user.type(await screen.findByRole("textbox"), "nonsense");
  await user.click(screen.getByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "approve", ...body });
});

test("a yes and a no are two buttons, without a form", async () => {
  const schema = { type: "object", properties: { answer: { type: "boolean" } }, required: ["answer"] };
  const { sent, user } = open({ ...plain, kind: "form", answer_schema: { type: "boolean" }, schema });
  await user.click(await screen.findByTestId("decide-approve"));
  expect(screen.queryByTestId("decide-respond")).toBeNull();
  expect(screen.queryByRole("textbox")).toBeNull();
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "approve", ...body });
});

test("a typed answer is a form, and only what fits it can be sent", async () => {
  const schema = { type: "object", properties: { city: { type: "string", maxLength: 20 } }, required: ["city"] };
  const { sent, user } = open({
    ...plain, kind: "form", answer_schema: schema, schema, allowed: ["approve", "respond"], actions: {},
  });
  await user.type(await screen.findByRole("textbox"), "Nara");
  expect(screen.queryByTestId("decide-respond")).toBeNull();
  await user.click(screen.getByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ decision: "approve", data: { city: "Nara" }, ...body });
});
