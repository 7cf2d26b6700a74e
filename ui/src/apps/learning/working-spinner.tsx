/** Animation while the agent works; it respects the setting for reduced motion. */
export function WorkingSpinner({ label, more }: { label: string; more?: string | undefined }) {
  return (
    <output className="blooming quiet" data-testid="activity">
      <svg className="bloom" viewBox="-16 -16 32 32" aria-hidden="true">
        {[0, 60, 120, 180, 240, 300].map((turn) => (
          <g key={turn} transform={`rotate(${turn})`}><ellipse className="petal" cx="0" cy="-8" rx="4" ry="6.5" style={{ animationDelay: `${turn * 3}ms` }} /></g>
        ))}
        <circle className="heart" r="2.6" />
      </svg>
      <span>{label}{more && <span className="bloom-more"> · {more}</span>}</span>
    </output>
  );
}
