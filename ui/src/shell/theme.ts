import { useEffect } from "react";
import { useMedia } from "../base/media";
import { usePreference } from "../base/preference";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

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
