import { ConfigProvider } from "antd";
import type { Locale } from "antd/es/locale";
import english from "antd/es/locale/en_US";
import { useEffect, useState, type ReactNode } from "react";
import { usePreference } from "../base/browser";
import { StringsContext, type Strings, en } from ".";

export type Language = "en" | "ja" | "zh";

interface LanguagePack {
  strings: Strings;
  locale: Locale;
}

const englishPack: LanguagePack = { strings: en, locale: english };

/** Each language is a separate file, so that only one is loaded. */
const loaders: Record<Language, () => Promise<LanguagePack>> = {
  en: async () => englishPack,
  ja: async () => {
    const [pack, locale] = await Promise.all([import("./ja"), import("antd/es/locale/ja_JP"), import("dayjs/locale/ja")]);
    return { strings: pack.ja, locale: locale.default };
  },
  zh: async () => {
    const [words, locale] = await Promise.all([import("./zh"), import("antd/es/locale/zh_CN"), import("dayjs/locale/zh-cn")]);
    return { strings: words.zh, locale: locale.default };
  },
};

export const languageNames: Record<Language, string> = { en: "English", ja: "日本語", zh: "中文" };

export const languages = Object.keys(loaders) as Language[];

const isLanguage = (name: string | undefined): name is Language => languages.includes(name as Language);

/** The chosen language, or the first supported one of the browser. */
export function useLanguage(): [Language, (language: Language) => void] {
  const [chosen, choose] = usePreference("language");
  const preferred = navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage);
  return [isLanguage(chosen) ? chosen : (preferred ?? "en"), choose];
}

/** Provide the page's language; the previous one stays until the next is loaded. */
export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language] = useLanguage();
  const [words, setPack] = useState<LanguagePack>();
  useEffect(() => {
    let current = true;
    const apply = (loaded: LanguagePack) => {
      if (!current) return;
      document.documentElement.lang = language;
      setPack(loaded);
    };
    loaders[language]().then(apply, () => apply(englishPack));
    return () => {
      current = false;
    };
  }, [language]);
  if (!words) return null;
  return (
    <StringsContext value={words.strings}>
      <ConfigProvider locale={words.locale}>{children}</ConfigProvider>
    </StringsContext>
  );
}
