import { useMutation } from "@tanstack/react-query";
import { Button } from "antd";
import { useLayoutEffect, useRef } from "react";
import { Problem } from "../widgets/problem";
import type { Conversation } from "./use-conversation";
import { useChatWords } from "./words";

/** What is added above must not push away what is being read. */
function useHeld(first: string | undefined) {
  const held = useRef<{ first: string | undefined; fromEnd: number }>(undefined);
  useLayoutEffect(() => {
    if (!held.current || held.current.first === first) return;
    window.scrollTo({ top: document.documentElement.scrollHeight - held.current.fromEnd, behavior: "instant" });
    held.current = undefined;
  });
  return () => {
    held.current = { first, fromEnd: document.documentElement.scrollHeight - window.scrollY };
  };
}

interface BeforeProps {
  /** The message that is shown first. */
  first: string | undefined;
  show: Conversation["showBefore"];
}

/** The way to what was said before the part of a chat that is shown. */
export function Before({ first, show }: BeforeProps) {
  const words = useChatWords();
  const hold = useHeld(first);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      await show?.(hold);
    },
  });
  if (!show) return null;
  return (
    <div className="chat-before">
      <Problem error={error} retry={() => mutate()} />
      <Button loading={isPending} onClick={() => mutate()} data-testid="show-before">{words.earlierMessages}</Button>
    </div>
  );
}
