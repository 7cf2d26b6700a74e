import { useState } from "react";

const storageKey = (chat: string) => `ringi.chat.${chat}`;

function readDraft(chat: string): string {
  try {
    return window.sessionStorage.getItem(storageKey(chat)) ?? "";
  } catch {
    return "";
  }
}

function saveDraft(chat: string, text: string): void {
  try {
    if (text) window.sessionStorage.setItem(storageKey(chat), text);
    else window.sessionStorage.removeItem(storageKey(chat));
  } catch {
    // Without storage the draft is lost with the page.
  }
}

/** Keep an unsent message across reloads of the tab. */
export function useMessageDraft(chat: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => readDraft(chat));
  const type = (newText: string) => {
    saveDraft(chat, newText);
    setText(newText);
  };
  return [text, type];
}
