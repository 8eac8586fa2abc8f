/** Marks the section that is being read in the page's table of contents. */
export function followContents(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.contents a')];
  const headings = links.flatMap((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))) ?? []);
  if (headings.length === 0) return;
  const update = () => {
    const above = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const current = (above.at(-1) ?? headings[0])?.id;
    for (const link of links) {
      if (link.hash === `#${current}`) link.setAttribute('aria-current', 'location');
      else link.removeAttribute('aria-current');
    }
  };
  let frame = 0;
  addEventListener('scroll', () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(update);
  }, { passive: true });
  update();
}
