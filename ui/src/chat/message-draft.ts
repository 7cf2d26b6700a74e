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
    // A browser that keeps nothing loses it with the page.
  }
}

/** What somebody has typed and not sent; it survives a reload. */
export function useMessageDraft(chat: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => readDraft(chat));
  const type = (typed: string) => {
    saveDraft(chat, typed);
    setText(typed);
  };
  return [text, type];
}
