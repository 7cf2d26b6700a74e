import { useState } from "react";

const nameOf = (chat: string) => `ringi.chat.${chat}`;

function kept(chat: string): string {
  try {
    return window.sessionStorage.getItem(nameOf(chat)) ?? "";
  } catch {
    return "";
  }
}

function keep(chat: string, text: string): void {
  try {
    if (text) window.sessionStorage.setItem(nameOf(chat), text);
    else window.sessionStorage.removeItem(nameOf(chat));
  } catch {
    // A browser that keeps nothing loses it with the page.
  }
}

/** What somebody has typed and not sent; it survives a reload. */
export function useTyped(chat: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => kept(chat));
  const type = (typed: string) => {
    keep(chat, typed);
    setText(typed);
  };
  return [text, type];
}
