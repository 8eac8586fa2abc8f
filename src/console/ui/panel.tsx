/** Layout: pages, panels, figures and fact lists. */
import { ChevronLeft } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Link } from 'wouter';
import { isolate } from '../app/format.ts';
import { arrive } from '../app/scroll-place.ts';

interface PageProps {
  title: string;
  intro?: ReactNode;
  actions?: ReactNode;
  back?: { href: string; label: string };
  narrow?: boolean;
  children: ReactNode;
}

/** One page. Sets the document title, and moves the focus to its heading after a navigation inside the console. */
export function Page({ title, intro, actions, back, narrow = false, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${isolate(title)} · Reelmend`;
  }, [title]);
  useEffect(() => {
    // Not at the first load, when the browser's own focus order is right.
    if (navigated) heading.current?.focus({ preventScroll: true });
    navigated = true;
    arrive();
  }, []);
  return (
    <div className={narrow ? 'page narrow' : 'page'}>
      <header className="page-head">
        <div>
          {back !== undefined && (
            <Link href={back.href} className="crumb">
              <ChevronLeft size={15} aria-hidden="true" />
              {back.label}
            </Link>
          )}
          <h1 ref={heading} tabIndex={-1} className="wrap-anywhere">
            {title}
          </h1>
          {intro !== undefined && <p>{intro}</p>}
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
let navigated = false;

interface PanelProps {
  title: string;
  note?: ReactNode;
  actions?: ReactNode;
  foot?: ReactNode;
  /** no padding, for content such as tables */
  flush?: boolean;
  children: ReactNode;
}

export function Panel({ title, note, actions, foot, flush = false, children }: PanelProps) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
        {note !== undefined && <p>{note}</p>}
      </div>
      <div className={flush ? 'panel-body flush' : 'panel-body'}>{children}</div>
      {foot !== undefined && <div className="panel-foot">{foot}</div>}
    </section>
  );
}

export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value], index) => (
        // Not the name: that of a job's metadata may be one of ours.
        <div key={index} style={{ display: 'contents' }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Figures({ figures }: { figures: readonly { name: string; value: ReactNode; unit?: string }[] }) {
  return (
    <dl className="figures">
      {figures.map(({ name, value, unit }) => (
        <div className="figure" key={name}>
          <dt>{name}</dt>
          <dd>
            {value} {unit !== undefined && <small>{unit}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
