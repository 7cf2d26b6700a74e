import { message } from "antd";
import { createContext, useContext, type ReactNode } from "react";

type Messages = ReturnType<typeof message.useMessage>[0];

const MessagesContext = createContext<Messages | null>(null);

/** Provide short messages. Ant Design's App would add the code of all dialogs to the first page load. */
export function MessagesProvider({ children }: { children: ReactNode }) {
  const [messages, holder] = message.useMessage();
  return <MessagesContext value={messages}>{holder}{children}</MessagesContext>;
}

/** Return the function that shows short messages, which disappear by themselves. */
export function useMessages(): Messages {
  const messages = useContext(MessagesContext);
  if (!messages) throw new Error("a component that says something stands outside WithMessages");
  return messages;
}
