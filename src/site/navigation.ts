/** The entries of the navigation. */
import { chapters } from './guides.ts';
import { tags } from './reference/contract.ts';

export interface NavigationGroup {
  title: string;
  /** URLs in Eleventy's form: without /docs */
  items: readonly { url: string; title: string }[];
}

const [use, ...others] = chapters.map(({ title, guides }) => ({
  title,
  items: guides.map((guide) => ({ url: `/${guide.slug}`, title: guide.title })),
}));

const reference: NavigationGroup = {
  title: 'API reference',
  items: [
    { url: '/reference', title: 'Overview' },
    ...tags.map(({ name }) => ({ url: `/reference/${name.toLowerCase()}`, title: name })),
  ],
};

export const navigation: readonly NavigationGroup[] = [use!, reference, ...others];
