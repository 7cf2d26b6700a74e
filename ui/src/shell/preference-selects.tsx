import { Segmented } from "antd";
import type { ReactNode } from "react";
import { useStrings } from "../strings";
import { languageNames, languages, useLanguage, type Language } from "../strings/language";
import { themes, useTheme, type Theme } from "./theme";

const glyphs: Record<Theme, string> = { system: "◐", light: "☼", dark: "☾" };
const shortNames: Record<Language, string> = { en: "EN", ja: "日", zh: "中" };

/** An icon with its name for screen readers. */
function Icon({ sign, name, lang }: { sign: ReactNode; name: string; lang?: string }) {
  return <><span aria-hidden="true">{sign}</span><span className="visually-hidden" lang={lang}>{name}</span></>;
}

export function LanguageSelect() {
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

export function ThemeSelect() {
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
