import { QueryClientProvider } from "@tanstack/react-query";
import { ConfigProvider, theme } from "antd";
import { Suspense, useState, type ReactNode } from "react";
import { isSignedIn, useSession } from "./api/session";
import { applications } from "./apps";
import { ApplicationsContext } from "./request/applications";
import { Shell } from "./shell/shell";
import { useDark } from "./shell/preference-select";
import { LanguageProvider } from "./strings/language";
import { lazyWithRetry, useMedia } from "./base/browser";
import { MessagesProvider } from "./widgets/messages";
import { Problem } from "./widgets/problem";
import { Loading } from "./widgets/loading";
import { createClient, isDown } from "./api/client";

// A signed-in person does not need the sign-in page.
const SignIn = lazyWithRetry(() => import("./shell/sign-in").then((module) => ({ default: module.SignIn })));
const ReplaceSession = lazyWithRetry(() => import("./shell/replace-session").then((module) => ({ default: module.ReplaceSession })));

// The default colours miss the contrast of 4.5:1 as text.
const lightColours = {
  colorPrimary: "#0958d9", colorPrimaryHover: "#0848b5", colorLink: "#0958d9", colorInfo: "#0958d9", colorInfoBg: "#e6f4ff", colorInfoBorder: "#91caff",
  colorError: "#cf1322", colorSuccess: "#237804", colorSuccessBg: "#f6ffed", colorSuccessBorder: "#b7eb8f",
  colorWarning: "#945800", colorWarningBg: "#fffbe6", colorWarningBorder: "#ffe58f",
  colorTextTertiary: "rgba(0, 0, 0, 0.6)", colorTextPlaceholder: "rgba(0, 0, 0, 0.56)",
};
const darkColours = {
  colorBgLayout: "#141518", colorBgContainer: "#1d1f23", colorBgElevated: "#26292e",
  colorPrimary: "#3c89e8", colorLink: "#69b1ff", colorInfo: "#69b1ff", colorError: "#ff7875",
  colorTextTertiary: "rgba(255, 255, 255, 0.6)", colorTextPlaceholder: "rgba(255, 255, 255, 0.56)",
};

// Without the emoji fonts of the default, which would draw digits too where none of these fonts is installed.
const fontFamily = '-apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';

/** The class that carries the theme's variables. */
const cssVar = { key: "ringi" };

function ThemeProvider({ children }: { children: ReactNode }) {
  const dark = useDark();
  const isMotionReduced = useMedia("(prefers-reduced-motion: reduce)");
  const algorithm = dark ? theme.darkAlgorithm : theme.defaultAlgorithm;
  const token = { ...(dark ? darkColours : lightColours), motion: !isMotionReduced, fontFamily };
  // In the dark theme white words on red, and tabs in the primary colour, miss the contrast of 4.5:1.
  const components = { Form: { itemMarginBottom: 14 }, Segmented: dark ? { trackBg: "#2b2e33", itemSelectedBg: "#45494f" } : { trackBg: "#ebebeb" }, ...(dark && { Button: { dangerColor: "#1f0a0a" }, Tabs: { itemSelectedColor: "#69b1ff" } }) };
  return (
    <ConfigProvider theme={{ algorithm, token, components, cssVar }}>
      <div className={`app ${cssVar.key}`}><MessagesProvider>{children}</MessagesProvider></div>
    </ConfigProvider>
  );
}

function SessionGate() {
  const { data, error, isPending, refetch } = useSession();
  if (data) return <Shell session={data} />;
  if (isDown(error)) return <main className="sign-in"><Problem error={error} retry={() => void refetch()} /></main>;
  if (isSignedIn(error)) return <Suspense><ReplaceSession error={error} /></Suspense>;
  const waiting = <Loading className="page-column" />;
  return isPending ? waiting : <Suspense fallback={waiting}><SignIn error={error} /></Suspense>;
}

export function App() {
  const [client] = useState(createClient);
  return (
    <QueryClientProvider client={client}>
      <ApplicationsContext value={applications}><LanguageProvider><ThemeProvider><SessionGate /></ThemeProvider></LanguageProvider></ApplicationsContext>
    </QueryClientProvider>
  );
}
