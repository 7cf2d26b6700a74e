import { useMutation } from "@tanstack/react-query";
import { Button } from "antd";
import { useLayoutEffect, useRef } from "react";
import { Problem } from "../widgets/problem";
import type { Conversation } from "./use-conversation";
import { useChatStrings } from "../strings/chat";

/** Keep the scroll position when messages are added above. */
function useScrollAnchor(firstId: string | undefined) {
  const anchor = useRef<{ firstId: string | undefined; fromEnd: number }>(undefined);
  useLayoutEffect(() => {
    if (!anchor.current || anchor.current.firstId === firstId) return;
    window.scrollTo({ top: document.documentElement.scrollHeight - anchor.current.fromEnd, behavior: "instant" });
    anchor.current = undefined;
  });
  return () => {
    anchor.current = { firstId, fromEnd: document.documentElement.scrollHeight - window.scrollY };
  };
}

interface EarlierMessagesProps {
  /** The id of the first loaded message. */
  first: string | undefined;
  show: Conversation["showEarlier"];
}

/** The button that loads earlier messages. */
export function EarlierMessages({ first, show }: EarlierMessagesProps) {
  const strings = useChatStrings();
  const saveAnchor = useScrollAnchor(first);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      await show?.(saveAnchor);
    },
  });
  if (!show) return null;
  return (
    <div className="earlier-messages">
      <Problem error={error} retry={() => mutate()} />
      <Button loading={isPending} onClick={() => mutate()} data-testid="show-earlier">{strings.earlierMessages}</Button>
    </div>
  );
}
