/** Makes the overview page of the API reference and one page for each tag. */
import type { ReferencePage } from '../reference/pages.ts';

interface Data {
  reference: ReferencePage;
}

const titleOf = ({ reference }: Data) => (reference.slug === '' ? 'API reference' : `${reference.title} · API reference`);

export const data = {
  pagination: { data: 'referencePages', size: 1, alias: 'reference' },
  permalink: ({ reference }: Data) => (reference.slug === '' ? '/reference.html' : `/reference/${reference.slug}.html`),
  eleventyComputed: { title: titleOf, summary: ({ reference }: Data) => reference.summary },
};

export const render = ({ reference }: Data): string => reference.html;
