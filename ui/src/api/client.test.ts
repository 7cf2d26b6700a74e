import { QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { FreshClient } from "./client";

/** Reads of one query that a test answers one by one. */
function observe(isActive: boolean) {
  const client = new FreshClient();
  const replies: ((reply: string) => void)[] = [];
  const options = { queryKey: ["pauses"], queryFn: () => new Promise<string>((resolve) => { replies.push(resolve); }), staleTime: Infinity };
  if (isActive) new QueryObserver(client, options).subscribe(() => undefined);
  else void client.prefetchQuery(options);
  return { client, replies, data: () => client.getQueryData<string>(["pauses"]), state: () => client.getQueryState(["pauses"]) };
}

test("a first read that was under way at a change is repeated, once for many changes", async () => {
  const { client, replies, data } = observe(true);
  void client.invalidateQueries({ queryKey: ["pauses"] });
  void client.invalidateQueries({ queryKey: ["pauses"] });
  replies[0]?.("before");
  await expect.poll(data).toBe("before");
  await expect.poll(() => replies.length).toBe(2);
  replies[1]?.("after");
  await expect.poll(data).toBe("after");
  expect(replies).toHaveLength(2);
});

test("a read that nobody looks at any more does not make its reply new", async () => {
  const { client, replies, data, state } = observe(false);
  void client.invalidateQueries({ queryKey: ["pauses"] });
  replies[0]?.("before");
  await expect.poll(data).toBe("before");
  await expect.poll(() => state()?.isInvalidated).toBe(true);
});

test("a read that nothing has changed is not repeated", async () => {
  const { client, replies, data } = observe(true);
  void client.invalidateQueries({ queryKey: ["threads"] });
  replies[0]?.("before");
  await expect.poll(data).toBe("before");
  expect(replies).toHaveLength(1);
});
