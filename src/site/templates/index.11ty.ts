/** The overview at /docs. */
import { chapters } from '../guides.ts';
import { codeBlock, escapeHtml } from '../html.ts';

export const data = {
  title: 'Reelmend',
  summary: 'Guides and the API reference of Reelmend, a video enhancement service that runs on your own machines.',
  permalink: '/index.html',
  isPlain: true,
};

function card({ slug, title, summary }: (typeof chapters)[number]['guides'][number]): string {
  return `<li><a href="/docs/${slug}"><strong>${escapeHtml(title)}</strong><span>${escapeHtml(summary)}</span></a></li>`;
}

export function render(): string {
  const request = `curl -s "$REELMEND_URL/v1/jobs" -H "Authorization: Bearer $REELMEND_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"video_url": "https://media.example.com/holiday.mp4", "resolution": "1080p"}'`;
  const lists = chapters.map(({ title, guides }) => `<h2>${escapeHtml(title)}</h2>\n<ul class="cards">${guides.map(card).join('')}</ul>`);
  return `<h1>Reelmend</h1>
<p class="lead">Post the URL of a video and a target, 1080p or 4K. Reelmend upscales, denoises, sharpens and adjusts contrast on
machines of your own, and returns a time-limited link to an H.264 MP4.</p>
<p class="actions"><a class="button primary" href="/docs/quick-start">Quick start</a><a class="button" href="/docs/reference">API reference</a></p>
${codeBlock({ language: 'bash', text: request, caption: 'Create a job' })}
${lists.join('\n')}`;
}
