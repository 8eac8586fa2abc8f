export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" fill="none" stroke="currentColor" strokeLinecap="round" aria-hidden="true">
      <path d="M4 11V7.5A3.5 3.5 0 0 1 7.5 4H11M21 4h3.5A3.5 3.5 0 0 1 28 7.5V11M28 21v3.5A3.5 3.5 0 0 1 24.5 28H21M11 28H7.5A3.5 3.5 0 0 1 4 24.5V21" strokeWidth="2.4" strokeOpacity="0.5" />
      <path d="M16 23V9.5M9.5 15.5 16 9l6.5 6.5" strokeWidth="3" strokeLinejoin="round" />
    </svg>
  );
}
