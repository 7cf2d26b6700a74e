import { Segmented } from "antd";
import { useEffect, type ReactNode } from "react";
import { useMedia, usePreference } from "../base/browser";
import { useStrings } from "../strings";
import { languageNames, languages, useLanguage, type Language } from "../strings/language";

export const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const isTheme = (name: string | undefined): name is Theme => themes.includes(name as Theme);

/** The chosen theme; the system's by default. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [preference, setPreference] = usePreference("theme");
  return [isTheme(preference) ? preference : "system", setPreference];
}

/** Return whether the page is dark, and apply the choice to the browser's own controls. */
export function useDark(): boolean {
  const [theme] = useTheme();
  const preferred = useMedia("(prefers-color-scheme: dark)");
  useEffect(() => {
    document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
  }, [theme]);
  return theme === "system" ? preferred : theme === "dark";
}

const glyphs: Record<Theme, string> = { system: "◐", light: "☼", dark: "☾" };
const shortNames: Record<Language, string> = { en: "EN", ja: "日", zh: "中" };

/** An icon with its name for screen readers. */
function Icon({ sign, name, lang }: { sign: ReactNode; name: string; lang?: string }) {
  return <><span aria-hidden="true">{sign}</span><span className="visually-hidden" lang={lang}>{name}</span></>;
}

function LanguageSelect() {
  const strings = useStrings();
  const [language, choose] = useLanguage();
  const options = languages.map((value) => ({
    value, title: languageNames[value],
    label: <Icon sign={shortNames[value]} name={languageNames[value]} lang={value} />,
  }));
  return (
    <Segmented<Language>
      size="small" aria-label={strings.languageLabel} data-testid="languages"
      value={language} options={options} onChange={choose}
    />
  );
}

function ThemeSelect() {
  const strings = useStrings();
  const [theme, choose] = useTheme();
  const options = themes.map((value) => ({
    value, title: strings.themes[value], label: <Icon sign={glyphs[value]} name={strings.themes[value]} />,
  }));
  return (
    <Segmented<Theme>
      size="small" aria-label={strings.theme} data-testid="themes" value={theme} options={options} onChange={choose}
    />
  );
}

/** The choice of the language or of the theme. */
export function PreferenceSelect({ of }: { of: "language" | "theme" }) {
  return of === "language" ? <LanguageSelect /> : <ThemeSelect />;
}
