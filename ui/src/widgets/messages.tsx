import { message } from "antd";
import { createContext, useContext, type ReactNode } from "react";

type Messages = ReturnType<typeof message.useMessage>[0];

const MessagesContext = createContext<Messages | null>(null);

/** Where short messages appear. Ant Design's own App does it too, but brings the code of all dialogs to the first view. */
export function MessagesProvider({ children }: { children: ReactNode }) {
  const [messages, holder] = message.useMessage();
  return <MessagesContext value={messages}>{holder}{children}</MessagesContext>;
}

/** Say something in passing: it goes by itself. */
export function useMessages(): Messages {
  const messages = useContext(MessagesContext);
  if (!messages) throw new Error("a component that says something stands outside WithMessages");
  return messages;
}
