/** The frame of every page for signed-in users: navigation, account menu, theme. */
import {
  Activity,
  BookOpen,
  ChevronsUpDown,
  Coins,
  Columns2,
  Contact,
  Film,
  Gauge,
  House,
  KeyRound,
  LogOut,
  Menu as MenuIcon,
  type LucideIcon,
  MonitorCog,
  Moon,
  ScrollText,
  ShieldCheck,
  Sparkles,
  Sun,
  TriangleAlert,
  UserRound,
  Users,
  Webhook,
  X,
} from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useJobStream } from '../api/job-stream.ts';
import { useOverview } from '../api/operator.ts';
import { useSession, useSignOut } from '../api/session.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Badge, Notice } from '../ui/feedback.tsx';
import { Menu, MenuItem, MenuLine, MenuNote } from '../ui/menu.tsx';
import { Segmented } from '../ui/segmented.tsx';
import { toastFailure } from '../ui/toasts.tsx';
import { formatCount } from './format.ts';
import { Logo } from './logo.tsx';
import type { Theme } from './theme-choice.ts';
import { setTheme, useTheme } from './theme.ts';

interface Item {
  href: string;
  label: string;
  icon: LucideIcon;
}

const work: readonly Item[] = [
  { href: '/', label: 'Home', icon: House },
  { href: '/enhance', label: 'Enhance a video', icon: Sparkles },
  { href: '/jobs', label: 'Jobs', icon: Film },
  { href: '/previews', label: 'Previews', icon: Columns2 },
];
const build: readonly Item[] = [
  { href: '/keys', label: 'API keys', icon: KeyRound },
  { href: '/webhooks', label: 'Webhooks', icon: Webhook },
  { href: '/request-log', label: 'Request log', icon: ScrollText },
  { href: '/credits', label: 'Credits', icon: Coins },
  { href: '/secure', label: 'Secure', icon: ShieldCheck },
  { href: '/people', label: 'People', icon: Contact },
];
const operate: readonly Item[] = [
  { href: '/operator', label: 'Service', icon: Gauge },
  { href: '/operator/accounts', label: 'Accounts', icon: Users },
  { href: '/operator/workers', label: 'Workers', icon: Activity },
  { href: '/operator/failures', label: 'Failures', icon: TriangleAlert },
];

export function Shell({ children }: { children: ReactNode }) {
  const isReachable = useJobStream();
  const [open, setOpen] = useState(false);
  const [location] = useLocation();
  useEffect(() => setOpen(false), [location]);
  // Also by a link to the page that is shown.
  useEffect(() => {
    const close = () => setOpen(false);
    window.addEventListener('pushState', close);
    return () => window.removeEventListener('pushState', close);
  }, []);
  const toggle = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const onKey = ({ key, defaultPrevented }: KeyboardEvent) => {
      // It may have closed the menu of the account.
      if (key !== 'Escape' || defaultPrevented) return;
      setOpen(false);
      toggle.current?.focus();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [open]);
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <header className="topbar">
        <Brand />
        <IconButton ref={toggle} label={open ? 'Close the menu' : 'Open the menu'} tone="quiet" aria-expanded={open} aria-controls="navigation" onClick={() => setOpen(!open)}>
          {open ? <X size={18} aria-hidden="true" /> : <MenuIcon size={18} aria-hidden="true" />}
        </IconButton>
      </header>
      <Navigation open={open} location={location} />
      {/* The open navigation would hide what has the focus. */}
      <main className="main" id="content" tabIndex={-1} onFocus={() => setOpen(false)}>
        {/* Empty while there is nothing to say: screen readers announce only changes of a region that is there. */}
        <div className="connection" role="status">
          {!isReachable && (
            <Notice tone="warn" title="The service cannot be reached.">
              This page may be out of date. It keeps trying to reconnect.
            </Notice>
          )}
        </div>
        {children}
      </main>
    </div>
  );
}

function Brand() {
  return (
    <Link href="/" className="brand">
      <Logo />
      Reelmend
    </Link>
  );
}

function Navigation({ open, location }: { open: boolean; location: string }) {
  const { user } = useSession();
  const pending = useOverview(user.operator).data?.accounts_pending ?? 0;
  return (
    <nav className={open ? 'nav open' : 'nav'} id="navigation" aria-label="Main">
      <Brand />
      <Group items={work} location={location} />
      <Group title="Build" items={build} location={location} />
      {user.operator && <Group title="Operate" items={operate} location={location} counts={{ '/operator/accounts': pending }} />}
      <Documents />
      <div className="nav-foot">
        <AccountMenu />
        <ThemeChoice />
      </div>
    </nav>
  );
}

interface GroupProps {
  title?: string;
  items: readonly Item[];
  location: string;
  counts?: Record<string, number>;
}

/** The documents are separate pages, outside this router. */
function Documents() {
  return (
    <div className="nav-group">
      <div className="nav-title">Learn</div>
      <a className="item" href="/docs">
        <BookOpen size={16} strokeWidth={1.9} aria-hidden="true" />
        Documentation
      </a>
    </div>
  );
}

function Group({ title, items, location, counts = {} }: GroupProps) {
  return (
    <div className="nav-group">
      {title !== undefined && <div className="nav-title">{title}</div>}
      {items.map(({ href, label, icon: Icon }) => (
        <Link key={href} href={href} className="item" aria-current={isCurrent(href, location) ? 'page' : undefined}>
          <Icon size={16} strokeWidth={1.9} aria-hidden="true" />
          {label}
          {(counts[href] ?? 0) > 0 && (
            <span className="count">
              <Badge tone="warn">{formatCount(counts[href] ?? 0)}</Badge>
            </span>
          )}
        </Link>
      ))}
    </div>
  );
}

function isCurrent(href: string, location: string): boolean {
  return href === '/' || href === '/operator' ? location === href : location === href || location.startsWith(`${href}/`);
}

function AccountMenu() {
  const { user, account } = useSession();
  const [, navigate] = useLocation();
  const signOut = useSignOut();
  const leave = () => void toastFailure(signOut);
  return (
    <Menu
      trigger={
        <Button tone="quiet" wide>
          <UserRound size={15} aria-hidden="true" />
          <span className="truncate grow" style={{ textAlign: 'left' }}>
            {account.name}
          </span>
          <ChevronsUpDown size={14} aria-hidden="true" />
        </Button>
      }
    >
      <MenuNote>{user.email}</MenuNote>
      <MenuLine />
      <MenuItem onSelect={() => navigate('/settings')}>
        <MonitorCog size={15} aria-hidden="true" />
        Password and sessions
      </MenuItem>
      <MenuItem onSelect={leave}>
        <LogOut size={15} aria-hidden="true" />
        Sign out
      </MenuItem>
    </Menu>
  );
}

export function ThemeChoice() {
  const theme = useTheme();
  return (
    <Segmented<Theme>
      label="Theme"
      value={theme}
      onChange={setTheme}
      options={[
        { value: 'system', label: 'Auto' },
        { value: 'light', label: <Sun size={14} aria-hidden="true" />, name: 'Light' },
        { value: 'dark', label: <Moon size={14} aria-hidden="true" />, name: 'Dark' },
      ]}
    />
  );
}
