"""A page as a browser takes it, for the tests."""

from html.parser import HTMLParser


class Parsed(HTMLParser):
    """Collects the elements, attributes and text of a page as a browser takes them."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.names, self.text, self.open = set(), set(), "", []
        self.balanced = True
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        self.balanced = self.balanced and bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
