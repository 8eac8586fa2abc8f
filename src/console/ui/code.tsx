/** Code blocks and secrets, each with a copy button. A browser that translates the page leaves them as they are. */
import { CopyButton } from './button.tsx';

export function CodeBlock({ text, wrap = false, label }: { text: string; wrap?: boolean; label: string }) {
  return (
    <div className="code">
      {/* The block may scroll sideways, so the keyboard must reach it. */}
      <pre className={wrap ? 'wrap' : undefined} tabIndex={0} role="region" aria-label={label} translate="no">
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy ${label}`} bare />
    </div>
  );
}

export function Secret({ value, label }: { value: string; label: string }) {
  return (
    <div className="secret">
      <code data-secret="" translate="no">{value}</code>
      <CopyButton text={value} label={`Copy ${label}`} />
    </div>
  );
}
