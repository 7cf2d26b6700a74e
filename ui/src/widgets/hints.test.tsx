import { cleanup, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { serve, show } from "../testing/fake-server";
import { Hints, useHintOnce } from "./hints";

function Follower({ follows }: { follows: boolean }) {
  useHintOnce("threads", follows);
  return <Hints />;
}

beforeEach(() => localStorage.clear());

const visible = () => screen.queryAllByTestId(/^hint-/).map((each) => each.dataset.testid);

test("a hint goes away for good once it is closed or followed", async () => {
  serve(() => [200, {}]);
  show(<Follower follows={false} />);
  expect(visible()).toEqual(["hint-open", "hint-answer", "hint-threads"]);
  const [close] = screen.getAllByRole("button", { name: "Close the hint" });
  if (close) await userEvent.setup().click(close);
  expect(visible()).toEqual(["hint-answer", "hint-threads"]);
  cleanup();
  show(<Follower follows />);
  expect(visible()).toEqual(["hint-answer"]);
  cleanup();
  show(<Follower follows={false} />);
  expect(visible()).toEqual(["hint-answer"]);
});
