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
      intro="Four seconds of 384 × 216, damaged by the encoders of an old camera and a messenger, beside the result of Reelmend with default settings, on a CPU."
      back={{ href: '/', label: 'Home' }}
      actions={<LinkButton href="/enhance" tone="primary">Enhance a video</LinkButton>}
    >
      <div className="panel panel-body">
        <BeforeAfter {...clips} frameRate={25} width={1920} height={1080} beforeLabel="384 × 216" afterLabel="1920 × 1080" />
      </div>
      <p className="small muted">The clip was made from two photographs in the public domain: the astronaut Eileen Collins (NASA) and a cup of coffee (Rachel Michetti). The result is encoded smaller here than the service does.</p>
    </Page>
  );
}
