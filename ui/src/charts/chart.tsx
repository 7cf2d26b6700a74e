import { theme } from "antd";
import {
  BarController, BarElement, CategoryScale, Chart as ChartJs, Filler, Legend, LinearScale, LineController, LineElement,
  PointElement, ScatterController, Tooltip, type ChartConfiguration,
} from "chart.js";
import { useEffect, useRef } from "react";

ChartJs.register(
  BarController, BarElement, CategoryScale, Filler, Legend, LinearScale, LineController, LineElement, PointElement,
  ScatterController, Tooltip,
);

type ChartContent = Pick<ChartConfiguration<"bar" | "line" | "scatter">, "type" | "data" | "options">;

/** A chart on a canvas, in the colors of the theme; a screen reader needs a table with the same figures beside it. */
export default function Chart({ content, label, height = 240 }: { content: ChartContent; label: string; height?: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { token } = theme.useToken();
  useEffect(() => {
    if (!canvas.current) return undefined;
    ChartJs.defaults.color = token.colorText;
    ChartJs.defaults.borderColor = token.colorSplit;
    ChartJs.defaults.font.family = token.fontFamily;
    const chart = new ChartJs(canvas.current, {
      ...content,
      options: { animation: false, maintainAspectRatio: false, ...content.options },
    });
    return () => chart.destroy();
  }, [content, token]);
  return (
    <figure aria-label={label} style={{ position: "relative", height, margin: 0 }}>
      <canvas ref={canvas} aria-hidden="true" />
    </figure>
  );
}
