/** A real video before and after, for accounts that cannot run one yet: test mode fetches no video. */
import { LinkButton } from '../ui/button.tsx';
import { Page } from '../ui/panel.tsx';
import { BeforeAfter } from '../viewer/before-after.tsx';

/** Made by docs/example.sh. */
const clips = { before: '/console/example/before.mp4', after: '/console/example/after.mp4' };

export function ExamplePage() {
  return (
    <Page
      title="An example"
      intro="Three seconds of a Windows Media video of 320 × 240, and what Reelmend made of them with its default settings, on a CPU."
      back={{ href: '/', label: 'Home' }}
      actions={<LinkButton href="/enhance" tone="primary">Enhance a video</LinkButton>}
    >
      <div className="panel panel-body">
        <BeforeAfter {...clips} frameRate={30} width={1440} height={1080} beforeLabel="320 × 240" afterLabel="1440 × 1080" />
      </div>
      <p className="small muted">The video is a test file of Apache Tika (Apache-2.0). Both clips are encoded smaller than the service does.</p>
    </Page>
  );
}
