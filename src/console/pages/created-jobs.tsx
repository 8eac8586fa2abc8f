/** Names the jobs of a submission that was broken off. */
import { Link } from 'wouter';
import { isolate, plural } from '../app/format.ts';
import { Notice } from '../ui/feedback.tsx';
import type { Submission } from './submit-job.ts';

export function CreatedJobs({ submission: { created, failed } }: { submission: Submission }) {
  if (created.length === 0) return null;
  return (
    <Notice tone="warn" role="status" title={`${plural(created.length, 'job')} created${failed === null ? '' : `, but not that of ${isolate(failed)}`}`}>
      <span>They are not submitted again.</span>
      <ul className="stack-s">
        {created.map(({ id, name }) => (
          <li key={id}>
            <Link href={`/jobs/${id}`} className="wrap-anywhere">
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </Notice>
  );
}
