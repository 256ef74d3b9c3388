// Search runs in a worker, and browsers start none for a page that is opened from the disk. There a
// frame that nobody sees takes its place: it loads the same script and is sent the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.tabIndex = -1;
      document.body.appendChild(frame);
      const inner = frame.contentWindow;
      inner.document.open();
      inner.document.write("<!doctype html><title>search</title>");
      inner.document.close();
      // what the script calls to answer, and to load others
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(inner, each)));
      this.load(inner, url).then(() => {
        this.inner = inner;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    load(inner, url) {
      return new Promise((done, failed) => {
        const script = inner.document.createElement("script");
        script.src = new URL(url, document.baseURI);
        script.onload = done;
        script.onerror = () => failed(new Error(`cannot load ${url}`));
        inner.document.body.appendChild(script);
      });
    }

    postMessage(data) {
      if (this.inner) {
        this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
      } else {
        this.waiting.push(data);
      }
    }

    terminate() {
      this.inner = undefined;
    }
  };
}
