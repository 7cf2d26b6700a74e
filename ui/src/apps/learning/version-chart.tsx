import { theme } from "antd";
import { useMemo } from "react";
import Chart from "../../charts/chart";
import { useLearningStrings } from "./strings";
import { Disclosure } from "../../widgets/disclosure";

const percent = (share: number | null) => (share === null ? null : Math.round(share * 100));

/** Size and accuracy of a playbook by version, as a chart and as a table. */
export default function VersionChart({ figures }: { figures: VersionFigures[] }) {
  const strings = useLearningStrings();
  const { token } = theme.useToken();
  const { playbookSize, playbookAccuracy } = strings;
  const content = useMemo(() => {
    const lines = { borderColor: token.colorPrimary, backgroundColor: token.colorPrimary };
    const share = { borderColor: token.colorSuccess, backgroundColor: token.colorSuccess, borderDash: [6, 3], pointStyle: "rect" as const };
    return {
      type: "line" as const,
      data: {
        labels: figures.map(({ version }) => String(version)),
        datasets: [
          { label: playbookSize, data: figures.map(({ size }) => size), stepped: true, yAxisID: "y", ...lines },
          { label: playbookAccuracy, data: figures.map(({ accuracy }) => percent(accuracy)), yAxisID: "share", spanGaps: true, ...share },
        ],
      },
      options: {
        scales: {
          y: { beginAtZero: true, ticks: { precision: 0 } },
          share: { position: "right" as const, min: 0, max: 100, grid: { drawOnChartArea: false }, ticks: { callback: (value: string | number) => `${value} %` } },
        },
      },
    };
  }, [figures, token, playbookSize, playbookAccuracy]);
  return (
    <div className="version-chart" data-testid="version-chart">
      <Chart content={content} label={strings.playbookByVersion} height={180} />
      <Disclosure id="version-figures" testId="version-figures" summary={<span className="quiet">{strings.playbookByVersion}</span>}>
        <table>
          <thead><tr><th scope="col">{strings.version}</th><th scope="col">{playbookSize}</th><th scope="col">{playbookAccuracy}</th></tr></thead>
          <tbody>
            {figures.toReversed().map(({ version, size, accuracy }) => (
              <tr key={version}><td>{version}</td><td>{size}</td><td>{accuracy === null ? "–" : `${percent(accuracy)} %`}</td></tr>
            ))}
          </tbody>
        </table>
      </Disclosure>
    </div>
  );
}

/** The figures of a playbook at one version. */
export interface VersionFigures {
  version: number;
  /** The number of active lines. */
  size: number;
  /** The share of helpful marks among all marks so far, helpful or misleading; null before the first one. */
  accuracy: number | null;
}
