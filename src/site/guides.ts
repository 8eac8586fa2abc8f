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
      { slug: 'models', title: 'Choose a network', source: 'docs/models.md', summary: 'What each network is for, and what it does to real videos.' },
      { slug: 'webhooks', title: 'Webhooks', source: 'docs/webhooks.md', summary: 'Signed events instead of polling, verified in TypeScript, Python and Go.' },
      { slug: 'errors', title: 'Errors', source: 'docs/errors.md', summary: 'Every error code with its cause and remedy, idempotency, rate limits.' },
      { slug: 'secure', title: 'Secure tier', source: 'docs/secure.md', summary: 'Retention, deletion certificates and the audit log.' },
      { slug: 'commands', title: 'Command line', source: 'docs/commands.md', summary: 'Every command with its arguments and options.' },
      { slug: 'sdk', title: 'TypeScript SDK', source: 'src/sdk/README.md', summary: 'The client for Node, Deno, Bun and browsers.' },
    ],
  },
  {
    title: 'Set up the service',
    guides: [
      { slug: 'operating', title: 'Operating', source: 'docs/operating.md', summary: 'Which page to open for what, and how to run commands.' },
      { slug: 'install', title: 'Install', source: 'docs/install.md', summary: 'Docker, systemd, automatic restart, and what runs as root.' },
      { slug: 'configuration', title: 'Configuration', source: 'docs/configuration.md', summary: 'Every environment variable, reverse proxies, rate limits, longer videos.' },
      { slug: 'database-and-storage', title: 'Database and storage', source: 'docs/database-and-storage.md', summary: 'PostgreSQL, S3 with its rights, uploads, and the servers that were tried.' },
      { slug: 'secrets', title: 'Secrets', source: 'docs/secrets.md', summary: 'What they protect, how to change them, and what to do after a theft or a loss.' },
      { slug: 'fleet', title: 'Several machines', source: 'docs/fleet.md', summary: 'Set-up, segments, autoscaling, Kubernetes and connections to PostgreSQL.' },
      { slug: 'gpu', title: 'GPUs', source: 'docs/gpu.md', summary: 'Set-up, devices, containers, and networks with their engines.' },
      { slug: 'accounts', title: 'Accounts', source: 'docs/accounts.md', summary: 'Operators, users, keys, credits and quotas.' },
      { slug: 'add-networks', title: 'Add networks', source: 'docs/add-networks.md', summary: 'Well-known networks, PyTorch networks, and ONNX files of your own.' },
    ],
  },
  {
    title: 'Run the service',
    guides: [
      { slug: 'monitoring', title: 'Monitoring', source: 'docs/monitoring.md', summary: 'Health checks, metrics, alerts, logs and traces.' },
      { slug: 'troubleshooting', title: 'Troubleshooting', source: 'docs/troubleshooting.md', summary: 'Messages with their causes, full disks, and a storage that fails.' },
      { slug: 'upgrade', title: 'Upgrade', source: 'docs/upgrade.md', summary: 'A new version, with or without a stop, and the jobs that run.' },
      { slug: 'backup', title: 'Backup and restore', source: 'docs/backup.md', summary: 'The database, the secrets and the files, saved and restored.' },
      { slug: 'move', title: 'Move', source: 'docs/move.md', summary: 'To another machine, PostgreSQL, S3 or URL.' },
      { slug: 'performance', title: 'Speed and memory', source: 'docs/performance.md', summary: 'The minimum speed of networks on a CPU, and the warm pool.' },
      { slug: 'scaling', title: 'Scaling', source: 'docs/scaling.md', summary: 'A fleet of workers: how it is measured, and where it ends.' },
    ],
  },
  {
    title: 'Background',
    guides: [
      { slug: 'architecture', title: 'Architecture', source: 'docs/architecture.md', summary: 'How a job flows through the system, and what happens when a part fails.' },
      { slug: 'network-training', title: 'Training and licences', source: 'docs/network-training.md', summary: 'Where the networks come from, their licences, and how good they were measured to be.' },
      { slug: 'retention', title: 'Retention and privacy', source: 'docs/retention.md', summary: 'What the service keeps, and for how long.' },
      { slug: 'security', title: 'Security', source: 'SECURITY.md', summary: 'What protects keys, videos and the network, and how to report a fault.' },
      { slug: 'changes', title: 'Changes', source: 'CHANGELOG.md', summary: 'What is new in each version.' },
    ],
  },
];

export const guides: readonly Guide[] = chapters.flatMap((chapter) => chapter.guides);
