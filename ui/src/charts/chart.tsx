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

const optionsOf = ({ options }: ChartContent): NonNullable<ChartContent["options"]> => ({ animation: false, maintainAspectRatio: false, ...options });

/** A chart on a canvas, in the colors of the theme; a screen reader needs a table with the same figures beside it. */
export default function Chart({ content, label, height = 240 }: { content: ChartContent; label: string; height?: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { token } = theme.useToken();
  const chart = useRef<ChartJs>(undefined);
  const latest = useRef(content);
  useEffect(() => {
    latest.current = content;
    if (!chart.current) return;
    chart.current.data = content.data;
    chart.current.options = optionsOf(content);
    chart.current.update();
  }, [content]);
  useEffect(() => {
    if (!canvas.current) return undefined;
    ChartJs.defaults.color = token.colorText;
    ChartJs.defaults.borderColor = token.colorSplit;
    ChartJs.defaults.font.family = token.fontFamily;
    const drawn: ChartJs = new ChartJs(canvas.current, { ...latest.current, options: optionsOf(latest.current) });
    chart.current = drawn;
    return () => {
      chart.current = undefined;
      drawn.destroy();
    };
  }, [token]);
  return (
    <figure aria-label={label} style={{ position: "relative", height, margin: 0 }}>
      <canvas ref={canvas} aria-hidden="true" />
    </figure>
  );
}
