"""A browser that logs in: python browser.py USER PASSWORD URL. It opens the page, fills in the form and goes where it is sent."""

import html
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

user, password, url = sys.argv[1:4]


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


page = urllib.request.urlopen(url).read().decode()
action = html.unescape(re.search(r'<form method="post" action="([^"]*)"', page)[1])
form = urllib.parse.urlencode({"username": user, "password": password, "access": "write", "decision": "allow"}).encode()
try:
    urllib.request.build_opener(Stay).open(urllib.parse.urljoin(url, action), form)
    sys.exit("no redirect")
except urllib.error.HTTPError as answer:
    back = answer.headers["location"]
for _ in range(50):
    try:
        print(urllib.request.urlopen(back).status)
        break
    except urllib.error.URLError:
        time.sleep(0.1)  # some clients open the browser before they listen
