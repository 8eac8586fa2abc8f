/** The pages of the site that are written in Markdown: their sources, and their order in the navigation. */

export interface Guide {
  /** last part of the URL: /docs/<slug> */
  slug: string;
  /** title in the navigation; the page's heading is that of the file */
  title: string;
  /** relative to the root of the repository */
  source: string;
  /** one line for the overview and the description of the page */
  summary: string;
}

export interface Chapter {
  title: string;
  guides: readonly Guide[];
}

export const chapters: readonly Chapter[] = [
  {
    title: 'Use the API',
    guides: [
      { slug: 'quick-start', title: 'Quick start', source: 'docs/quick-start.md', summary: 'The first job with curl, TypeScript, Python and the console.' },
      { slug: 'webhooks', title: 'Webhooks', source: 'docs/webhooks.md', summary: 'Signed events instead of polling, verified in TypeScript, Python and Go.' },
      { slug: 'errors', title: 'Errors', source: 'docs/errors.md', summary: 'Every error code with its cause and remedy, idempotency, rate limits.' },
      { slug: 'secure', title: 'Secure tier', source: 'docs/secure.md', summary: 'Retention, deletion certificates and the audit log.' },
      { slug: 'sdk', title: 'TypeScript SDK', source: 'src/sdk/README.md', summary: 'The client for Node, Deno, Bun and browsers.' },
    ],
  },
  {
    title: 'Run the service',
    guides: [
      { slug: 'operating', title: 'Operating', source: 'docs/operating.md', summary: 'Docker, systemd, configuration, S3, metrics and alerts, backup and upgrade.' },
      { slug: 'fleet', title: 'Several machines', source: 'docs/fleet.md', summary: 'Set-up, segments, autoscaling, Kubernetes and connections to PostgreSQL.' },
      { slug: 'scaling', title: 'Scaling', source: 'docs/scaling.md', summary: 'A fleet of workers: how it is measured, and where it ends.' },
      { slug: 'gpu', title: 'GPUs', source: 'docs/gpu.md', summary: 'Set-up, devices, containers, and networks with their engines.' },
      { slug: 'accounts', title: 'Accounts', source: 'docs/accounts.md', summary: 'Operators, users, keys, credits and quotas.' },
      { slug: 'models', title: 'Networks', source: 'docs/models.md', summary: 'The shipped networks, what they do to real videos, and your own.' },
      { slug: 'architecture', title: 'Architecture', source: 'docs/architecture.md', summary: 'How a job flows through the system, and what happens when a part fails.' },
      { slug: 'security', title: 'Security', source: 'SECURITY.md', summary: 'What protects keys, videos and the network, and how to report a fault.' },
      { slug: 'changes', title: 'Changes', source: 'CHANGELOG.md', summary: 'What is new in each version.' },
    ],
  },
];

export const guides: readonly Guide[] = chapters.flatMap((chapter) => chapter.guides);
